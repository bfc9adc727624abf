// Keys: / goes to the search, g h to the home page, g d to the DAGs.
const PAGES = { h: "/", d: "/dags" };

/** Listen to keys, but not where text is typed. */
export function listenToKeys() {
  let last = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const search = document.querySelector("[data-key='/']");
    if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
    } else if (last === "g" && PAGES[event.key]) {
      location.assign(PAGES[event.key]);
    }
    last = event.key;
  });
}

function isTyping(target) {
  return target instanceof Element && target.matches("input, select, textarea, [contenteditable]");
}
