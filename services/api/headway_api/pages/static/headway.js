// What every page does: it stays live, shows times in a zone, answers keys, folds groups.  A page with a
// grid, a log or sliders loads the script of these before this one.
import { afterEach, keepLive, listenForFolds } from "./live.js";
import { listenToKeys } from "./keys.js";
import { followTheme } from "./theme.js";
import { showTimes } from "./times.js";

followTheme();
afterEach(showTimes);
listenToKeys();
listenForFolds();
document.addEventListener("lines", showTimes);
keepLive(document.body.dataset.topic);
