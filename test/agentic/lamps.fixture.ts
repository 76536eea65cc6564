import { lamp } from "../../src/embed/lamp.fixture.ts";

export const desk = lamp();
export default desk;
