/**
 * [P] Formats money, counts and times for people. The text is rounded; the exact amount is in the title and in the
 * element's value. Money is never a float.
 */
import { formatDecimal, ONE_E9 } from './decimal.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';

/** "$1,234.56": nano-USD rounded half away from zero to 0 to 9 places, with thousands separated. */
export function formatUsd(nanoUsd: bigint, places = 2): string {
  const unit = 10n ** BigInt(9 - places);
  const magnitude = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const rounded = ((2n * magnitude + unit) / (2n * unit)) * unit;
  const [, fraction = ''] = formatDecimal(rounded, places).split('.');
  return `${nanoUsd < 0n && rounded > 0n ? '−' : ''}$${(rounded / ONE_E9).toLocaleString('en-US')}${places > 0 ? `.${fraction}` : ''}`;
}

/** Like `formatUsd`, but rounded down, for what remains: it never promises more than there is. */
export function formatUsdDown(nanoUsd: bigint, places = 2): string {
  return formatUsd(floorTo(nanoUsd, places), places);
}

function floorTo(nanoUsd: bigint, places: number): bigint {
  const unit = 10n ** BigInt(9 - places);
  return nanoUsd - (((nanoUsd % unit) + unit) % unit);
}

/** The places that a column of amounts needs: cents, or hundredths of a cent where one is below ten cents. */
export function columnPlaces(amounts: readonly bigint[]): number {
  return amounts.some((each) => each !== 0n && each > -100_000_000n && each < 100_000_000n) ? 4 : 2;
}

/** "$1,234.567890123": every digit that is not a trailing zero, at least cents. */
export function formatExactUsd(nanoUsd: bigint): string {
  const magnitude = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const [, fraction = '00'] = formatDecimal(magnitude, 2).split('.');
  return `${nanoUsd < 0n ? '−' : ''}$${(magnitude / ONE_E9).toLocaleString('en-US')}.${fraction}`;
}

/**
 * Renders money. Without `places`: cents from one dollar, hundredths of a cent below it, and "< $0.0001" below those.
 */
export function renderUsd(nanoUsd: bigint, places?: number): Html {
  return renderAmount(nanoUsd, formatShortUsd(nanoUsd, places));
}

/** Renders what remains of a limit: rounded down, and never below zero. */
export function renderRemaining(nanoUsd: bigint, places?: number): Html {
  const left = nanoUsd < 0n ? 0n : nanoUsd;
  return renderAmount(nanoUsd, formatUsdDown(left, places ?? (left < 100_000_000n ? 4 : 2)));
}

/** Renders a balance: what remains is rounded down, and what is owed is not rounded away. */
export function renderBalance(nanoUsd: bigint, places?: number): Html {
  return nanoUsd < 0n ? renderUsd(nanoUsd, places) : renderRemaining(nanoUsd, places);
}

/** Renders what was spent of a limit: rounded up, so that it adds up to the limit with what remains. */
export function renderSpent(nanoUsd: bigint, places: number): Html {
  return renderAmount(nanoUsd, formatUsd(-floorTo(-nanoUsd, places), places));
}

function renderAmount(nanoUsd: bigint, shown: string): Html {
  return html`<data class="money" value="${formatDecimal(nanoUsd, 2)}" title="${formatExactUsd(nanoUsd)}"
    >${shown}</data
  >`;
}

/** The text of `renderUsd`. */
export function formatShortUsd(nanoUsd: bigint, places?: number): string {
  const magnitude = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  if (places !== undefined) {
    const unit = 10n ** BigInt(9 - places);
    const tiny = magnitude > 0n && 2n * magnitude < unit;
    return tiny ? `${nanoUsd < 0n ? '−' : ''}< ${formatUsd(unit, places)}` : formatUsd(nanoUsd, places);
  }
  if (magnitude >= ONE_E9) return formatUsd(nanoUsd, 2);
  if (magnitude > 0n && magnitude < 100_000n) return `${nanoUsd < 0n ? '−' : ''}< $0.0001`;
  return formatUsd(nanoUsd, 4).replace(/0{1,2}$/, '');
}

/** "1,234". */
export function formatCount(count: number | bigint): string {
  return count.toLocaleString('en-US');
}

/** "1 call", "1,234 calls". */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Renders a time as UTC, "2026-11-21 10:53:21 UTC"; a script shows it in the reader's time zone, to the given unit. */
export function renderTime(ms: number, unit: 'second' | 'minute' | 'day' = 'second'): Html {
  const iso = new Date(ms).toISOString();
  const shown = {
    second: `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`,
    minute: `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`,
    day: iso.slice(0, 10),
  }[unit];
  return html`<time datetime="${iso.slice(0, 19)}Z" data-unit="${unit}">${shown}</time>`;
}

/** "840 ms", "12.4 s", "3 min 20 s". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
