import { fileURLToPath } from "node:url";

/** The same place from the sources and from what is bundled of them, which lies as deep as this file. */
export const PROGRAM = fileURLToPath(new URL("../../bin/troupe.js", import.meta.url));
