// The module of `troupe serve` in the test of killed servers.
import { caller, KINDS } from "./model.fixture.ts";

export default [caller, ...KINDS];
