// The server, as the page sees it: typed requests, and one socket for what happens.

import type { Event as Told, ResultEvent } from "./wire";

export type Values = Record<string, number | string | boolean | null>;

/** What the server says; with a sketch come its maps. */
export type Event = Exclude<Told, ResultEvent> | (ResultEvent & { maps?: Map<string, ArrayBuffer> });

/** The server refused, in its own words. */
export class Refusal extends Error {}

/** Nobody answered. */
export class Offline extends Error {}

async function checked(asked: Promise<Response>): Promise<Response> {
  const response = await asked.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Offline(String(error));
  });
  if (response.ok) return response;
  // Overtaken by a newer request of our own, which brings the answer: as if it had been aborted.
  if (response.status === 409) throw new DOMException("overtaken", "AbortError");
  let message = `${response.status} ${response.statusText}`;
  try {
    message = ((await response.json()) as { message: string }).message;
  } catch {
    // Not one of our own answers: the status has to do.
  }
  throw new Refusal(message);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await checked(fetch(path, signal ? { signal } : {}));
  return (await response.json()) as T;
}

export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const asked = fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  return (await (await checked(asked)).json()) as T;
}

export async function bytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await checked(fetch(path, signal ? { signal } : {}))).arrayBuffer();
}

/** Send one file as it is; reports how far it got. */
export function upload<T>(
  file: File,
  path: string,
  progress: (share: number) => void,
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    request.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 0);
    request.onerror = () => reject(new Offline(file.name));
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    request.onload = () => {
      let answer: unknown;
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        answer = { message: `${file.name}: ${request.status}` };
      }
      if (request.status < 300) resolve(answer as T);
      else reject(new Refusal((answer as { message: string }).message));
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** A sketch with its maps: length of the text, the text, and the maps one after the other. */
function unpacked(message: ArrayBuffer): Event {
  const length = new DataView(message).getUint32(0, true);
  const event = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, length))) as ResultEvent & {
    maps?: Map<string, ArrayBuffer>;
  };
  const size = event.result.width * event.result.height * 4;
  event.maps = new Map(
    event.sketch!.map((name, k) => [name, message.slice(4 + length + k * size, 4 + length + (k + 1) * size)]),
  );
  return event;
}

/** Milliseconds between two attempts to connect. */
const AGAIN = 1000;

/** Listen to the server for ever; connects again when the connection is lost. */
export function listen(hear: (event: Event) => void, connected: (yes: boolean) => void): { now: () => void } {
  let waiting = 0;
  const connect = (): void => {
    clearTimeout(waiting);
    const socket = new WebSocket(`ws://${location.host}/api/events`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => connected(true);
    socket.onmessage = (message: MessageEvent<string | ArrayBuffer>) =>
      hear(typeof message.data === "string" ? (JSON.parse(message.data) as Event) : unpacked(message.data));
    socket.onclose = () => {
      connected(false);
      clearTimeout(waiting);
      waiting = window.setTimeout(connect, AGAIN);
    };
  };
  connect();
  return { now: connect };
}
