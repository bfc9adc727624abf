// What every page does: it stays live, shows times in a zone, answers keys, opens cells of the grid.
import { followGrid } from "./grid.js";
import { keepLive } from "./live.js";
import { listenToKeys } from "./keys.js";
import { followSliders } from "./outputs.js";
import { followTheme } from "./theme.js";
import { showTimes } from "./times.js";

function afterwards() {
  followGrid();
  showTimes();
}

followTheme();
afterwards();
followSliders();
listenToKeys();
keepLive(document.body.dataset.topic, afterwards);
