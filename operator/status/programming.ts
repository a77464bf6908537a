/** [P] Converts the proxies' acknowledgements of one object to its condition Programmed. */
import { RECONCILING } from './conditions.ts';
import type { Programming } from './conditions.ts';

/** The proxies' acknowledgements of an object's last published version. */
export interface ProxyProgress {
  /** A hash of the content; the same on every replica. */
  readonly version: string;
  /** The connected proxies that have a complete configuration. */
  readonly connected: number;
  readonly acknowledged: number;
  readonly rejected: readonly { readonly proxy: string; readonly message: string }[];
  /**
   * The time from publication to the last acknowledgement; undefined until all connected proxies have acknowledged it.
   */
  readonly convergedMs: number | undefined;
  /** The pods of the fleet that are ready and connected to no operator. */
  readonly missing?: readonly string[];
  /** True if the proxies rejected the configuration with this version because of other objects. */
  readonly heldUp?: boolean;
}

const NO_PROXIES: Programming = {
  status: 'False',
  reason: 'NoProxies',
  message:
    'No proxy is connected. Start the data plane; if it is running, see its logs for why it cannot reach the ' +
    'operator.',
};
const HELD_UP =
  'Other objects were rejected. The proxies continue with the last good configuration, which does not contain this ' +
  'version.';
/** The most messages that are shown: most proxies that reject something give the same one. */
const MAX_WORDS = 3;
/** The most proxies that are named as not connected. */
const MAX_NAMES = 5;

export function programmingOf(progress: ProxyProgress | undefined): Programming {
  if (!progress) return RECONCILING;
  const { connected, acknowledged, rejected, convergedMs, missing = [], heldUp } = progress;
  const all = connected + missing.length;
  if (rejected.length > 0) return { status: 'False', reason: 'Rejected', message: rejection(progress) };
  if (connected === 0) return NO_PROXIES;
  if (acknowledged < connected)
    return {
      status: 'Unknown',
      reason: 'Reconciling',
      message: heldUp ? HELD_UP : `Acknowledged by ${acknowledged} of ${all} proxies so far.`,
    };
  if (missing.length > 0)
    return {
      status: 'Unknown',
      reason: 'ProxyNotConnected',
      message: `Acknowledged by ${acknowledged} of ${all} proxies; ${absence(missing)}.`,
    };
  const took = convergedMs === undefined ? '' : ` in ${Math.ceil(convergedMs)} ms`;
  return {
    status: 'True',
    reason: 'Programmed',
    message: `Acknowledged by ${acknowledged} of ${connected} ${connected === 1 ? 'proxy' : 'proxies'}${took}.`,
  };
}

/** How many proxies have the object in force by the message of a Programmed=True; 0 if it does not say so. */
export function proxiesInForce(message: string): number {
  return Number(/^Acknowledged by (\d+) of /.exec(message)?.[1] ?? 0);
}

function absence(missing: readonly string[]): string {
  const names = missing.slice(0, MAX_NAMES).join(', ');
  const more = missing.length > MAX_NAMES ? ` and ${missing.length - MAX_NAMES} more` : '';
  const [are, goOn, their] = missing.length === 1 ? ['is', 'continues', 'its'] : ['are', 'continue', 'their'];
  return `${names}${more} ${are} not connected and ${goOn} with ${their} last good configuration`;
}

function rejection({ rejected, connected }: ProxyProgress): string {
  const words = rejected
    .slice(0, MAX_WORDS)
    .map(({ proxy, message }) => `${proxy}: ${message}`)
    .join('; ');
  return (
    `Rejected by ${rejected.length} of ${Math.max(connected, rejected.length)} proxies, which continue with the ` +
    `last good version. ${words}`
  );
}
