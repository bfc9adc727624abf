// A slider shows its value beside it.

/** Have each slider of the page show its value. */
export function followSliders() {
  for (const slider of document.querySelectorAll("input[data-shows]")) {
    slider.addEventListener("input", () => {
      document.getElementById(slider.dataset.shows).textContent = slider.value;
    });
  }
}
