// What every page does: it stays live, shows keys, and opens cells of the grid.
import { followGrid } from "./grid.js";
import { keepLive } from "./live.js";
import { listenToKeys } from "./keys.js";

followGrid();
listenToKeys();
keepLive(document.body.dataset.topic, followGrid);
