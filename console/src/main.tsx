// Owns: the start of the page. Does not own: its pages (app.tsx).
import { render } from "preact";
import { App } from "./app.tsx";
import { replaceInvalidLanguage } from "./language.ts";
import { adoptToken } from "./session.ts";
import "./style.css";

replaceInvalidLanguage();
adoptToken();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
