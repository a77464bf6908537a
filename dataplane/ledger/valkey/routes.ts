/**
 * [P] Where calls ran, as text. The same few combinations come again and again: of each channel they are kept as they were written.
 */
import type { CallOrigin } from '../usage-record.ts';

export type Route = Pick<CallOrigin, 'group' | 'model' | 'channel' | 'catalog'>;

export interface RouteText {
  readonly route: Route;
  /** What the script keeps of it. */
  readonly word: string;
  /** The word as JSON, for the journal. */
  readonly quoted: string;
}

/** The channels that came first are forgotten first. */
const MOST_CHANNELS = 10_000;
/** Of a channel: more than models and groups that are in use at a time. To look through all of them takes a third of the time of writing one. */
const MOST_OF_CHANNEL = 32;

export class RouteTexts {
  readonly #channels = new Map<string, RouteText[]>();

  of(route: Route): RouteText {
    const known = this.#channels.get(route.channel);
    if (!known) return this.#first(route);
    for (let at = 0; at < known.length; at++) {
      const text = known[at];
      if (!text || !isSameRoute(text.route, route)) continue;
      if (at > 0) toFront(known, at, text);
      return text;
    }
    // the one that was asked for longest ago
    if (known.length >= MOST_OF_CHANNEL) known.pop();
    return added(known, route);
  }

  #first(route: Route): RouteText {
    if (this.#channels.size >= MOST_CHANNELS) {
      const [oldest = ''] = this.#channels.keys();
      this.#channels.delete(oldest);
    }
    const known: RouteText[] = [];
    this.#channels.set(route.channel, known);
    return added(known, route);
  }
}

/** Those that were asked for last are found first, and forgotten last. */
function toFront(known: RouteText[], from: number, text: RouteText): void {
  known.copyWithin(1, 0, from);
  known[0] = text;
}

function added(known: RouteText[], { group, model, channel, catalog }: Route): RouteText {
  const route = { group, model, channel, catalog };
  const word = routeWord(route);
  const text = { route, word, quoted: JSON.stringify(word) };
  known.unshift(text);
  return text;
}

export function isSameRoute(a: Route, b: Route): boolean {
  return a.channel === b.channel && a.model === b.model && a.group === b.group && a.catalog === b.catalog;
}

export function routeWord({ group, model, channel, catalog }: Route): string {
  return JSON.stringify([group, model, channel, catalog]);
}

export function parseRoute(text: string | undefined): Route {
  const value: unknown = JSON.parse(text ?? '[]');
  const [group, model, channel, catalog] = (Array.isArray(value) ? value : []).map(String);
  return { group: group ?? '', model: model ?? '', channel: channel ?? '', catalog: catalog ?? '' };
}
