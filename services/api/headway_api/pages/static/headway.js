// What every page does: it stays live, shows times in a zone, answers keys, opens cells of the grid, folds groups.
import { followGrid } from "./grid.js";
import { keepLive, listenForFolds } from "./live.js";
import { listenToKeys } from "./keys.js";
import { followLog, listenForLog } from "./log.js";
import { followSliders } from "./outputs.js";
import { followTheme } from "./theme.js";
import { showTimes } from "./times.js";

function afterwards() {
  followGrid();
  followLog();
  showTimes();
  followSliders();
}

followTheme();
afterwards();
listenToKeys();
listenForLog();
listenForFolds();
document.addEventListener("lines", showTimes);
keepLive(document.body.dataset.topic, afterwards);
