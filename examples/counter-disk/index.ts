import { counter } from "../counter/counter.ts";

export default counter("disk");
