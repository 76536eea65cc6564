export { list } from "./list.ts";
export { me } from "./me.ts";
