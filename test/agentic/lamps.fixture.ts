import { lamp } from "../../src/bridges/embed/lamp.fixture.ts";

export const desk = lamp();
export default desk;
