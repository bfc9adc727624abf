// The end of a log that grows: lines come by a stream, and the view stays at the end unless somebody
// has scrolled away from it.  A tab that nobody sees has no stream.
import { afterEach, parsed } from "./live.js";
import { keepOut } from "./morph.js";

const MOST = 400; // lines that stay in the page
const NEAR = 60; // pixels from the end that count as the end
const begun = new WeakSet();
const LAST = 2_000; // milliseconds in which the last lines come after the page of the end
let followed = null; // the list that lines come to, and the stream, which is closed while nobody sees the tab
let ending = 0;
let stays = true; // at the end, until somebody scrolls up
let seen = { top: 0, height: 0 }; // where the view was, and of how long a page

/** Follow the log of the page, if its end is shown and its attempt runs. */
function followLog() {
  const box = document.getElementById("follow");
  clearTimeout(ending);
  if (document.hidden) return followed?.stream?.close();
  // A page from a byte on has no stream any more once there are more lines than a page has.
  const address = box?.dataset.stream ?? ("runs" in (box?.dataset ?? {}) ? followed?.address : undefined);
  if (address) begin(box.querySelector(".log"), address);
  else ending = setTimeout(close, LAST);
  for (const link of document.querySelectorAll(".later")) link.hidden = Boolean(address);
}

function close() {
  clearTimeout(ending);
  followed?.stream?.close();
  followed = null;
}

/** Have lines come to the list, from where they have come to. */
function begin(list, address) {
  if (followed?.list !== list) {
    close();
    followed = { list, address, at: null, stream: null };
  }
  if (followed.stream && followed.stream.readyState !== EventSource.CLOSED) return;
  followed.stream = opened(followed);
}

function opened(its) {
  const { list } = its;
  const address = new URL(its.address, location.href);
  if (its.at) address.searchParams.set("from", its.at);
  const stream = new EventSource(address); // lines that come again are known by their ids
  if (!begun.has(list)) {
    stays = true;
    toTheEnd();
  }
  begun.add(list);
  keepOut(list);
  stream.onmessage = (event) => {
    its.at = event.lastEventId;
    const atEnd = stays && isAtEnd();
    for (const line of parsed(`<ol>${event.data}</ol>`).querySelectorAll("li")) {
      if (!document.getElementById(line.id)) list.append(document.adoptNode(line));
    }
    while (atEnd && list.children.length > MOST) list.firstElementChild.remove();
    if (atEnd) toTheEnd();
    list.dispatchEvent(new Event("lines", { bubbles: true }));
  };
  return stream;
}

/** Tell a reader who scrolls up, by however little, from a page that has become shorter. */
function noteScroll() {
  const { scrollTop: top, scrollHeight: height } = document.documentElement;
  if (top < seen.top && height >= seen.height) stays = false;
  else if (top > seen.top && isAtEnd()) stays = true;
  seen = { top, height };
}

function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - page.scrollTop - page.clientHeight < NEAR;
}

function toTheEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}

afterEach(followLog);
document.addEventListener("visibilitychange", followLog);
window.addEventListener("pageshow", followLog);
window.addEventListener("scroll", noteScroll, { passive: true });
window.addEventListener("pagehide", () => followed?.stream?.close());
