// The end of a log that grows: lines come by a stream, and the view stays at the end unless somebody
// has scrolled away from it.  A tab that nobody sees has no stream.
import { parsed } from "./live.js";
import { keepOut } from "./morph.js";

const MOST = 400; // lines that stay in the page
const NEAR = 60; // pixels from the end that count as the end
const begun = new WeakSet();
const LAST = 2_000; // milliseconds in which the last lines come after the page of the end
let followed = null;
let ending = 0;

/** Follow the log of the page, if its end is shown and its attempt runs. */
export function followLog() {
  const address = document.getElementById("follow")?.dataset.stream;
  if (document.hidden) return close();
  clearTimeout(ending);
  if (!address) {
    ending = setTimeout(close, LAST);
    return;
  }
  const log = address.split("?")[0];
  if (followed?.log === log) return;
  close();
  followed = { log, stream: opened(document.querySelector("#follow .log"), address) };
}

/** Have the log be followed while its tab is seen. */
export function listenForLog() {
  document.addEventListener("visibilitychange", followLog);
  window.addEventListener("pageshow", followLog);
  window.addEventListener("pagehide", close);
}

function close() {
  clearTimeout(ending);
  followed?.stream.close();
  followed = null;
}

function opened(list, address) {
  const stream = new EventSource(address); // lines that come again are known by their ids
  if (!begun.has(list)) toTheEnd();
  begun.add(list);
  keepOut(list);
  stream.onmessage = (event) => {
    const atEnd = isAtEnd();
    for (const line of parsed(`<ol>${event.data}</ol>`).querySelectorAll("li")) {
      if (!document.getElementById(line.id)) list.append(document.adoptNode(line));
    }
    while (atEnd && list.children.length > MOST) list.firstElementChild.remove();
    if (atEnd) toTheEnd();
    list.dispatchEvent(new Event("lines", { bubbles: true }));
  };
  return stream;
}

function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - page.scrollTop - page.clientHeight < NEAR;
}

function toTheEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}
