// Keep a page live: the API sends what the page has become when something of its topic has changed,
// and what differs is put in place.
import { morph } from "./morph.js";

const REST = 250; // milliseconds after which the stream follows to an address, if that stays
const AGAIN = 10_000; // milliseconds after which a stream that was refused is asked for again
const policy = window.trustedTypes?.createPolicy("headway", { createHTML: (text) => text });

const works = []; // what is done each time the page has changed
let cells = { shown: () => "", take: () => undefined };
let follow = () => undefined;

/** Return the document of a text of the API's own. */
export function parsed(text) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
}

/** Do something now, and each time the page has changed. */
export function afterEach(work) {
  works.push(work);
  work();
}

/** Have a script draw cells: `shown` says where they come from, `take` draws those that came. */
export function drawCellsBy(shown, take) {
  cells = { shown, take };
}

/** Go to another address of the same page, and put in place what differs. */
export async function visit(address) {
  history.pushState(null, "", address);
  await reload();
}

/** Have links that fold groups keep the place to which the page is scrolled. */
export function listenForFolds() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.fold");
    const elsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || elsewhere) return;
    event.preventDefault();
    const address = new URL(link.getAttribute("href"), location.href);
    address.hash = ""; // it is for pages without script
    visit(address);
  });
}

/** Follow topics, with spaces between. */
export function keepLive(topics) {
  window.addEventListener("popstate", reload);
  if (!topics) return;
  const shown = document.getElementById("live");
  let source = null;
  let later = 0;

  function open() {
    source?.close();
    if (document.hidden) return;
    const opened = new EventSource(addressOfStream(topics));
    source = opened;
    source.onopen = () => say(shown, "live", false);
    source.onerror = () => {
      if (!shown.classList.contains("stale")) say(shown, `stale since ${now()}`, true);
      if (opened.readyState === EventSource.CLOSED) setTimeout(() => opened === source && open(), AGAIN);
    };
    listen(opened, here(), cells.shown());
  }

  follow = () => {
    clearTimeout(later);
    later = setTimeout(open, REST);
  };
  document.addEventListener("visibilitychange", open);
  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (event) => event.persisted && open()); // the way back
  requestAnimationFrame(() => setTimeout(open)); // the page is painted first: to follow it is work of the API, too
}

function addressOfStream(topics) {
  const asked = new URLSearchParams(topics.split(" ").map((topic) => ["topic", topic]));
  asked.append("page", here());
  if (cells.shown()) asked.append("cells", cells.shown());
  return `/live?${asked}`;
}

function here() {
  return location.pathname + location.search;
}

/** Put in place what a stream sends of this address, one after the other. */
function listen(stream, address, asked) {
  let work = Promise.resolve();
  const take = (then) => (event) => {
    const body = unpacked(event.data);
    work = work.then(async () => {
      const bytes = await body;
      if (stream.readyState !== EventSource.CLOSED) then(bytes);
    }).catch((error) => {
      console.error(error);
      setTimeout(follow, AGAIN); // the stream sends the whole page again
    });
  };
  stream.addEventListener("page", take((bytes) => {
    if (here() === address) show(new TextDecoder().decode(bytes));
    // Somebody has gone on, or chosen another zone of times; or the cells come from elsewhere now.
    if (here() !== address || cells.shown() !== asked) follow();
  }));
  stream.addEventListener("cells", take((bytes) => cells.take(bytes, asked)));
}

/** Return the bytes that an event has. */
async function unpacked(data) {
  const { coding, body } = JSON.parse(data);
  const text = atob(body);
  const bytes = new Uint8Array(text.length);
  for (let nth = 0; nth < text.length; nth += 1) bytes[nth] = text.charCodeAt(nth);
  if (coding === "identity") return bytes;
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  writer.write(bytes).then(() => writer.close());
  return new Uint8Array(await new Response(stream.readable).arrayBuffer());
}

function now() {
  return new Date().toLocaleTimeString();
}

function say(shown, text, stale) {
  shown.hidden = false;
  shown.textContent = text;
  shown.classList.toggle("stale", stale);
}

/** Load the page of the address, which has changed. */
async function reload() {
  const asked = here();
  const answer = await fetch(asked, { headers: { Accept: "text/html" } }).catch(() => undefined);
  const text = answer?.ok && !answer.redirected ? await answer.text() : "";
  if (here() !== asked) return; // somebody has gone on meanwhile
  if (text) show(text);
  follow();
}

function show(text) {
  const page = parsed(text);
  const wanted = page.getElementById("content");
  if (wanted) morph(document.getElementById("content"), wanted);
  document.title = page.title;
  for (const work of works) work();
}
