// What a page does by itself: the menu folds on narrow screens, code can be copied, and the list of contents shows where
// one is.
"use strict";

const menu = document.querySelector("nav.site details");
if (matchMedia("(max-width: 60rem)").matches) menu.open = false;
const here = menu.querySelector("a.here");
if (here && here.offsetTop > menu.clientHeight) menu.scrollTop = here.offsetTop - menu.clientHeight / 2;

for (const block of document.querySelectorAll("main .highlight")) {
  if (block.matches(".signature")) continue;
  const button = document.createElement("button");
  button.textContent = "copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(withoutPrompts(block.querySelector("pre").innerText));
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1200);
  });
  block.append(button);
}

// Of a session only what was typed.
function withoutPrompts(text) {
  if (!text.startsWith(">>> ")) return text;
  const typed = text.split("\n").filter((line) => line.startsWith(">>> ") || line.startsWith("..."));
  return typed.map((line) => line.slice(4)).join("\n") + "\n";
}

const links = new Map();
for (const link of document.querySelectorAll("nav.contents a")) {
  const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (heading) links.set(heading, link);
}
addEventListener("scroll", markPlace, { passive: true });
markPlace();

function markPlace() {
  let current = null;
  for (const [heading, link] of links) {
    if (heading.getBoundingClientRect().top < 120) current = link;
  }
  for (const link of links.values()) link.classList.toggle("here", link === current);
}
