// What is wrong with the page that is shown, as sentences; `tools/docs/browser.py` runs it in a browser.
() => {
  // Markup that was not understood; of attribute lists their beginning.
  const RAW = /<\/?(code|em|strong|a|p|td|pre)\b|&(lt|gt|amp);|``|(?<!\w)\*\*(?=\w)|\{ ?[.#:] ?[.#]?\w|\]\(|^\s*#{1,6} \w|^\s*\|.*\|/m;
  const FAINTEST = 3; // the contrast that large and secondary text must have; the body has far more
  const found = [];
  const wide = document.documentElement.clientWidth;

  function name(element) {
    const text = (element.textContent || element.src || "").trim().replace(/\s+/g, " ").slice(0, 60);
    return `<${element.tagName.toLowerCase()}> ${JSON.stringify(text)}`;
  }

  function scrolls(element) {
    for (let one = element; one && one !== document.documentElement; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.overflowX !== "visible" || style.position === "absolute") return true;
    }
    return false;
  }

  if (document.documentElement.scrollWidth > wide) found.push(`is ${document.documentElement.scrollWidth} wide, of ${wide}`);
  for (const element of document.querySelectorAll("main *, footer *, header *")) {
    const box = element.getBoundingClientRect();
    if (box.width && box.right > wide + 1 && !scrolls(element)) found.push(`${name(element)} ends at ${box.right}, of ${wide}`);
  }
  for (const entry of document.querySelectorAll("nav a, nav summary")) {
    if (entry.scrollWidth > entry.clientWidth + 1) found.push(`${name(entry)} is cut in the menu`);
  }
  for (const image of document.images) {
    if (!image.complete || !image.naturalWidth) found.push(`${name(image)} is not shown: ${image.src}`);
  }

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const looked = new Set();
  while (texts.nextNode()) {
    const text = texts.currentNode.data;
    const parent = texts.currentNode.parentElement;
    if (!text.trim() || parent.closest("script, style") || !parent.getClientRects().length) continue;
    if (!parent.closest("code, pre") && RAW.test(text)) found.push(`shows markup: ${JSON.stringify(text.trim().slice(0, 80))}`);
    const style = getComputedStyle(parent);
    const ground = background(parent);
    const key = style.color + ground;
    if (looked.has(key) || hidden(parent)) continue;
    looked.add(key);
    const ratio = contrast(style.color, ground);
    if (ratio < FAINTEST) found.push(`${name(parent)} is faint: ${style.color} on ${ground}, ${ratio.toFixed(1)} to 1`);
  }
  return found;

  function hidden(element) {
    for (let one = element; one; one = one.parentElement) if (getComputedStyle(one).opacity !== "1") return true;
    return false;
  }

  function background(element) {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (!/^rgba\(.*, 0\)$|^transparent$/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  }

  // As the guidelines for accessible content (WCAG 2) define it.
  function contrast(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  function luminance(color) {
    const parts = color.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
}
