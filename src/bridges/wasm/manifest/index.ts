export { ManifestError } from "./manifest-error.ts";
export { ManifestFinder, type ManifestOptions } from "./manifest-finder.ts";
export { readManifest } from "./read-manifest.ts";
export { isOperators, MANIFEST_SPACE, referenceOf } from "./reference.ts";
export { showsMachine } from "./shows-machine.ts";
