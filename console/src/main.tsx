// Owns: the start of the page. Does not own: its pages (app.tsx).
import { render } from "preact";
import { App } from "./app.tsx";
import { adoptToken } from "./session.ts";
import "./style.css";

adoptToken();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
