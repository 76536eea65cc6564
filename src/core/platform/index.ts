// Bundlers for browsers take the other file instead: package.json's `browser` says so.
export * from "./node.ts";
