// Bundlers for browsers replace node.ts by browser.ts: see the field `browser` of package.json.
export * from "./node.ts";
