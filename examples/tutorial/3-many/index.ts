export { home } from "./home.ts";
export { list, open } from "./list.ts";
export { me } from "./me.ts";
