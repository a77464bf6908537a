/** [P] A bar that shows a share. It is decorative: its label or the text next to it says the same. */
import { html } from '../html.ts';
import type { Html } from '../html.ts';

/** plain shows an amount; the others also judge it. */
export type BarTone = 'plain' | 'good' | 'warn' | 'bad' | 'quiet';

interface Bar {
  /** The filled part of `whole`; a greater part fills the whole bar. */
  readonly part: bigint;
  readonly whole: bigint;
  readonly tone?: BarTone;
  /** Absent: the text next to it says the same, so that screen readers skip the bar. */
  readonly label?: string;
}

/** The units of a whole bar. */
const FULL = 10_000n;

/** Renders the bar, as wide as its container. Any part above zero is visible, however small. */
export function renderBar({ part, whole, tone = 'plain', label }: Bar): Html {
  const meaning = label === undefined ? html`aria-hidden="true"` : html`role="img" aria-label="${label}"`;
  return html`<svg class="bar ${tone}" viewBox="0 0 10000 10" preserveAspectRatio="none" ${meaning} focusable="false">
    <rect width="${Number(share(part, whole))}" height="10" />
  </svg>`;
}

/** The share in ten-thousandths, rounded half up, but at least a visible hundredth if the part is above zero. */
function share(part: bigint, whole: bigint): bigint {
  if (part <= 0n) return 0n;
  if (whole <= 0n || part >= whole) return FULL;
  const exact = (2n * part * FULL + whole) / (2n * whole);
  return exact < FULL / 100n ? FULL / 100n : exact;
}
