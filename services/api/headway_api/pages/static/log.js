// The end of a log that grows: lines come by a stream, and the view stays at the end unless somebody
// has scrolled away from it.
import { parsed } from "./live.js";

const MOST = 400; // lines that stay in the page
const NEAR = 60; // pixels from the end that count as the end
let source = null;

/** Follow the log of the page, if its end is shown and its attempt runs. */
export function followLog() {
  const box = document.getElementById("follow");
  const address = box?.dataset.stream;
  if (source && source.address === address) return;
  source?.stream.close();
  source = address ? { address, stream: opened(box.querySelector(".log"), address) } : null;
}

function opened(list, address) {
  const stream = new EventSource(address);
  toTheEnd();
  stream.onmessage = (event) => {
    const atEnd = isAtEnd();
    for (const line of parsed(`<ol>${event.data}</ol>`).querySelectorAll("li")) {
      if (!document.getElementById(line.id)) list.append(document.adoptNode(line));
    }
    while (atEnd && list.children.length > MOST) list.firstElementChild.remove();
    if (atEnd) toTheEnd();
    list.dispatchEvent(new Event("lines", { bubbles: true }));
  };
  window.addEventListener("pagehide", () => stream.close());
  return stream;
}

function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - page.scrollTop - page.clientHeight < NEAR;
}

function toTheEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}
