/** [P] Chooses the page or the data for a client of `/pricing`, by its Accept header (RFC 9110, 12.5.1). */

export type PricingFormat = 'html' | 'json';

interface Preference {
  readonly quality: number;
  /** 0: any type, 1: any subtype, 2: exactly this type. */
  readonly precision: number;
}

/**
 * `/pricing.json` is always data; `/pricing` is the page, unless the client prefers data. `/` is a page for browsers,
 * whose Accept names HTML, and data for programs that accept anything.
 */
export function negotiate(acceptHeader: string | undefined, path: string): PricingFormat {
  if (path.endsWith('.json')) return 'json';
  const undecided = path === '/' ? 'json' : 'html';
  if (acceptHeader === undefined) return undecided;
  const page = preference(acceptHeader, 'text', 'html');
  const data = preference(acceptHeader, 'application', 'json');
  if (page.quality !== data.quality) return data.quality > page.quality ? 'json' : 'html';
  // both have the same quality: choose the one that is named more exactly ("application/json, */*")
  if (data.quality > 0 && data.precision > page.precision) return 'json';
  return page.quality > 0 && page.precision > 0 ? 'html' : undecided;
}

function preference(acceptHeader: string, family: string, type: string): Preference {
  const names = ['*/*', `${family}/*`, `${family}/${type}`];
  let best: Preference = { quality: 0, precision: -1 };
  for (const range of acceptHeader.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const precision = names.indexOf(name);
    if (precision > best.precision) best = { quality: qualityOf(parameters), precision };
  }
  return best;
}

function qualityOf(parameters: readonly string[]): number {
  const written = parameters.find((parameter) => parameter.startsWith('q='));
  if (written === undefined) return 1;
  const quality = Number(written.slice('q='.length));
  return quality >= 0 && quality <= 1 ? quality : 0;
}
