// Owns: light and dark. Does not own: the colours (style.css).
import { effect, signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";
const NAME = "troupe-console-theme";
const isTheme = (value: unknown): value is Theme => value === "system" || value === "light" || value === "dark";
const stored = localStorage.getItem(NAME);

export const theme = signal<Theme>(isTheme(stored) ? stored : "system");

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(NAME, theme.value);
});

export const cycleTheme = (): void => {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
};
