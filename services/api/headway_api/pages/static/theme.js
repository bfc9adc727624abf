// Light or dark: as the system has it, until somebody chooses.
const KEPT = "headway-theme";

/** Apply the theme that was chosen, and have the button change it. */
export function followTheme() {
  const kept = localStorage.getItem(KEPT);
  if (kept) document.documentElement.dataset.theme = kept;
  const button = document.getElementById("theme");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", toggleTheme);
}

/** Change from light to dark, or back. */
export function toggleTheme() {
  const wanted = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = wanted;
  localStorage.setItem(KEPT, wanted);
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
