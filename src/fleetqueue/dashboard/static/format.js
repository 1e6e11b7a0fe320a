// Times as people say them, and objects as YAML.

import { h } from "./dom.js";

export function age(text) {
  if (!text) return "";
  const time = h("time", { datetime: text, title: new Date(text).toLocaleString() }, since(text));
  return time;
}

export function tick() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const text = since(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
  }
}

export function since(text, now = Date.now()) {
  const seconds = Math.max(0, Math.floor((now - Date.parse(text)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h`;
  return `${Math.floor(hours / 24)}d`;
}

export function yaml(value, indent = "") {
  if (Array.isArray(value)) {
    if (!value.length) return "[]";
    return value.map((item) => `${indent}- ${nested(item, indent + "  ").trimStart()}`).join("\n");
  }
  if (value && typeof value === "object") {
    const entries = Object.entries(value);
    if (!entries.length) return "{}";
    return entries.map(([key, item]) => `${indent}${scalar(key)}:${below(item, indent)}`).join("\n");
  }
  return scalar(value);
}

function nested(item, indent) {
  return item && typeof item === "object" ? yaml(item, indent) : scalar(item);
}

function below(item, indent) {
  const isEmpty = item && typeof item === "object" && !Object.keys(item).length;
  if (!item || typeof item !== "object" || isEmpty) return ` ${yaml(item)}`;
  return `\n${yaml(item, Array.isArray(item) ? indent : indent + "  ")}`;
}

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./-]*$/;
const WORDS = /^(true|false|null|yes|no|on|off|y|n)$/i;

function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}
