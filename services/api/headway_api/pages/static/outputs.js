// A slider shows its value beside it.
import { afterEach } from "./live.js";

const followed = new WeakSet();

/** Have each slider of the page show its value. */
function followSliders() {
  for (const slider of document.querySelectorAll("input[data-shows]")) {
    const show = () => {
      document.getElementById(slider.dataset.shows).textContent = slider.value;
    };
    show(); // what the API has sent may be another one than what is chosen
    if (!followed.has(slider)) slider.addEventListener("input", show);
    followed.add(slider);
  }
}

afterEach(followSliders);
