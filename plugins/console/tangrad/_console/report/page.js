"use strict";
// Filters rows by words and by signs, and shows explanations. Without it the page is whole, only less handy.
(() => {
  const tools = document.querySelector(".tools");
  const words = document.querySelector("input");
  const found = document.querySelector("output");
  const buttons = [...document.querySelectorAll(".key button")];
  const blocks = [...document.querySelectorAll("section.block")].map((block) => ({
    block, head: block.querySelector("h2").textContent, rows: [...block.querySelectorAll("tbody tr")],
  }));
  const texts = new Map();

  // A browser's own tooltips come late, and not at all for a finger or the keyboard.
  for (const cell of document.querySelectorAll("[title]")) {
    cell.dataset.tip = cell.title;
    cell.removeAttribute("title");
    if (cell.tagName === "TD") cell.tabIndex = -1;
  }
  for (const table of document.querySelectorAll("table")) {
    const first = table.querySelector("td[data-tip]");
    if (first) first.tabIndex = 0;
  }

  function textOf(row, head) {
    if (!texts.has(row)) {
      const tips = [...row.querySelectorAll("[data-tip]")].map((cell) => cell.dataset.tip);
      texts.set(row, [head, row.textContent, ...tips].join(" ").toLowerCase());
    }
    return texts.get(row);
  }

  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const signs = buttons.filter((button) => button.getAttribute("aria-pressed") === "true");
    let shown = 0, all = 0;
    for (const { block, head, rows } of blocks) {
      let some = rows.length === 0 && wanted.length + signs.length === 0;
      for (const row of rows) {
        const keep = wanted.every((word) => textOf(row, head).includes(word))
          && signs.every((button) => row.querySelector(`[data-signs~="${CSS.escape(button.dataset.sign)}"]`));
        row.hidden = !keep;
        some ||= keep;
        shown += keep;
        all += 1;
      }
      block.hidden = !some;
    }
    found.textContent = shown === all ? `${all} rows` : `${shown} of ${all} rows`;
  }

  let tip = null;
  function hide() {
    tip?.remove();
    tip = null;
  }
  function show(cell) {
    hide();
    tip = document.createElement("div");
    tip.id = "tip";
    tip.role = "tooltip";
    tip.textContent = cell.dataset.tip;
    document.body.append(tip);
    const box = cell.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const above = box.bottom + own.height + 12 > innerHeight && box.top > own.height + 12;
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - own.width - 8));
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above ? box.top - own.height - 6 : box.bottom + 6) + scrollY}px`;
  }
  function tipped(event) {
    const cell = event.target.closest?.("[data-tip]");
    if (cell) show(cell); else hide();
  }
  document.addEventListener("pointerover", tipped);
  document.addEventListener("focusin", tipped);
  document.addEventListener("click", tipped);
  document.addEventListener("scroll", hide, { passive: true });

  function neighbour(cell, key) {
    if (key === "ArrowLeft") return cell.previousElementSibling;
    if (key === "ArrowRight") return cell.nextElementSibling;
    const rows = [...cell.closest("tbody").rows].filter((row) => !row.hidden);
    const row = rows[rows.indexOf(cell.parentElement) + (key === "ArrowDown" ? 1 : -1)];
    return row?.cells[cell.cellIndex];
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      hide();
      if (event.target === words) words.value = "";
      filter();
    } else if (event.key === "/" && event.target !== words) {
      event.preventDefault();
      words.focus();
    } else if (event.key.startsWith("Arrow") && event.target.tagName === "TD") {
      const next = neighbour(event.target, event.key);
      if (next?.dataset.tip) {
        event.preventDefault();
        next.focus();
      }
    }
  });

  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      filter();
    });
  }
  words.addEventListener("input", filter);
  tools.hidden = false;
  filter();
})();
