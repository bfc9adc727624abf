// Make one tree of elements like another one, and leave alone what is the same: the focus, the
// selection, what is typed and how far a box is scrolled stay.

const kept = new WeakMap();

/**
 * Leave what is in this element to the script that draws it; its attributes are the page's.
 * When `isOver` says so of what a page has in its place, the page draws it again.
 */
export function keepOut(element, isOver = () => false) {
  kept.set(element, isOver);
}

/** Make `old` like `wanted`. */
export function morph(old, wanted) {
  if (old.isEqualNode(wanted)) return;
  copyAttributes(old, wanted);
  if (kept.has(old)) {
    if (!kept.get(old)(wanted)) return;
    kept.delete(old);
  }
  const before = [...old.childNodes];
  const after = [...wanted.childNodes];
  for (let nth = 0; nth < after.length; nth += 1) {
    const here = before[nth];
    if (here === undefined) old.append(after[nth]);
    else if (isAlike(here, after[nth])) morphNode(here, after[nth]);
    else here.replaceWith(after[nth]);
  }
  for (const extra of before.slice(after.length)) extra.remove();
}

function isAlike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && one.id === other.id;
}

function morphNode(old, wanted) {
  if (old.nodeType === Node.ELEMENT_NODE) morph(old, wanted);
  else if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
}

function copyAttributes(old, wanted) {
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}
