// The search. The index is a script that is loaded when the field is first used; what is typed meanwhile is answered when
// it is there. Every word of a query must be found in a row; where it is found decides on the order.
"use strict";

const query = document.getElementById("search-query");
const results = document.getElementById("search-results");
const SHOWN = 30;
// What a word is worth that is: the full name, the name, another word for it, the beginning of one of these, within the
// name, in the text. A name of the reference comes before a part of a page that is found equally well.
const WORTH = { full: 120, name: 100, other: 80, full_start: 45, start: 50, other_start: 30, module: 12, within: 20, text: 4 };
const PREFIXES = [[/^jax\./, "tangrad."], [/^jnp\./, "numpy."], [/^tnp\./, "numpy."], [/^np\./, "numpy."]];

let rows = null;
let asked = false;

function loadIndex() {
  if (asked) return;
  asked = true;
  const script = document.createElement("script");
  script.src = base_url + "/search/index.js";
  script.onerror = () => say("The index of the search could not be loaded.");
  document.head.append(script);
}

// Called by the index.
function found(entries) {
  rows = entries.map(([title, module, address, text, others]) => ({
    title, module, address, text,
    name: title.toLowerCase(),
    full: (module ? module + "." + title : title).toLowerCase(),
    words: text.toLowerCase(),
    others: others.split(" ").filter(Boolean),
    isName: address.startsWith("reference/"),
  }));
  answer();
}

function answer() {
  const typed = query.value.trim().toLowerCase();
  if (!typed) return results.replaceChildren();
  if (!rows) return say("Loading the index …");
  const words = typed.split(/\s+/).map((word) => PREFIXES.reduce((text, [from, to]) => text.replace(from, to), word));
  const scored = [];
  for (const row of rows) {
    const score = worth(row, words);
    if (score) scored.push([score, row]);
  }
  scored.sort(([a, one], [b, other]) => b - a || one.name.length - other.name.length);
  if (!scored.length) return say("Nothing is found.");
  results.replaceChildren(...scored.slice(0, SHOWN).map(([, row]) => link(row, words)));
}

function worth(row, words) {
  let total = row.isName ? 1 : 0;
  for (const word of words) {
    const points = worthOfWord(row, word);
    if (!points) return 0;
    total += points;
  }
  return total;
}

function worthOfWord(row, word) {
  if (row.full === word || row.full.endsWith("." + word)) return row.name === word ? WORTH.name : WORTH.full;
  if (row.name === word) return WORTH.name;
  if (row.others.includes(word)) return WORTH.other;
  if (row.name.startsWith(word)) return WORTH.start;
  if (row.full.includes("." + word)) return WORTH.full_start;
  if (word.length > 2 && row.others.some((other) => other.startsWith(word))) return WORTH.other_start;
  if (row.name.includes(word)) return WORTH.within;
  if (row.module.toLowerCase().includes(word)) return WORTH.module;
  return row.words.includes(word) ? WORTH.text : 0;
}

function link(row, words) {
  const entry = document.createElement("a");
  entry.href = base_url + "/" + row.address;
  const title = row.isName ? part("code", row.title) : part("strong", row.title);
  const head = part("span", "", "head");
  head.append(title, part("span", row.module, "module"));
  const also = row.others.filter((other) => words.some((word) => other.startsWith(word)));
  if (also.length && !words.includes(row.name)) head.append(part("span", "for " + also.join(", "), "other"));
  entry.append(head, part("span", excerpt(row, words), "text"));
  return entry;
}

function excerpt(row, words) {
  const place = Math.max(0, row.words.indexOf(words.find((word) => row.words.includes(word)) ?? ""));
  const start = place > 80 ? row.text.indexOf(" ", place - 60) + 1 : 0;
  const text = row.text.slice(start, start + 160);
  return (start ? "… " : "") + text + (row.text.length > start + 160 ? " …" : "");
}

function part(tag, text, kind = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function say(text) {
  results.replaceChildren(part("p", text));
}

query.addEventListener("focus", loadIndex);
query.addEventListener("input", () => (loadIndex(), answer()));
if (query.value) (loadIndex(), answer()); // what the browser kept, or what was typed before this ran

addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement === document.body) {
    event.preventDefault();
    query.focus();
  }
  if (event.key === "Escape") {
    query.value = "";
    results.replaceChildren();
    query.blur();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...results.querySelectorAll("a")];
  if (!links.length || !event.target.closest("form")) return;
  if (event.key === "Enter" && event.target === query) links[0].click();
  if (step) {
    event.preventDefault();
    (links[links.indexOf(document.activeElement) + step] ?? query).focus();
  }
});
addEventListener("click", (event) => {
  if (!event.target.closest("form") || event.target.closest("#search-results a")) results.replaceChildren();
});
