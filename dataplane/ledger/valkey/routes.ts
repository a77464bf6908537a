/**
 * [P] Where calls ran, as text. The same few combinations come again and again: of each channel the latest is kept as it was written.
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

const MOST = 10_000;

export class RouteTexts {
  readonly #latest = new Map<string, RouteText>();

  of({ group, model, channel, catalog }: Route): RouteText {
    const latest = this.#latest.get(channel);
    if (latest && isSameRoute(latest.route, { group, model, channel, catalog })) return latest;
    if (this.#latest.size >= MOST) this.#latest.clear();
    const word = routeWord({ group, model, channel, catalog });
    const text = { route: { group, model, channel, catalog }, word, quoted: JSON.stringify(word) };
    this.#latest.set(channel, text);
    return text;
  }
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
