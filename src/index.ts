export * from "./actor/index.ts";
export * from "./contract/index.ts";
