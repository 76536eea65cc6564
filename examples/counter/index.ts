import { counter } from "./counter.ts";

export default counter("memory");
