/** The sampling settings of Claude's models, on whichever provider; of other models on Converse as well. */
import type { ModelCapabilities } from '../capabilities.ts';
import type { Located, Settings } from '../conversation/request.ts';
import { keptValue } from '../conversation/take.ts';
import type { DroppedFields } from '../dropped-fields.ts';

/** Of the protocols; other dialects go to 2. */
const MAX_TEMPERATURE = 1;
/** The minimum of top_p while a Claude thinks. */
const MIN_THINKING_TOP_P = 0.95;

export interface SamplingContext {
  /** A Claude that thinks takes no sampling settings, but a top_p close to its default. */
  readonly thinks: boolean;
  readonly capabilities: Pick<ModelCapabilities, 'temperature' | 'temperatureWithTopP'>;
  readonly dropped: DroppedFields;
}

export interface Sampling {
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
}

/** 1 is the default of temperature and top_p. */
export function claudeSampling(
  { temperature: warmth, topP }: Settings,
  { thinks, capabilities, dropped }: SamplingContext,
): Sampling {
  const { temperature: takes, temperatureWithTopP } = capabilities;
  const temperature = keptValue(atMost(warmth, MAX_TEMPERATURE), takes && !thinks, dropped, 1);
  const takesTopP = thinks
    ? (topP?.value ?? 0) >= MIN_THINKING_TOP_P
    : temperatureWithTopP || temperature === undefined;
  return { temperature, topP: keptValue(atMost(topP, 1), takes && takesTopP, dropped, 1) };
}

function atMost(setting: Located<number> | undefined, max: number): Located<number> | undefined {
  return setting && { ...setting, value: Math.min(Math.max(setting.value, 0), max) };
}

/** The stop sequences with words, which are all that a Claude takes; that there are others is named. */
export function claudeStops(stop: Settings['stop'], dropped: DroppedFields): Settings['stop'] {
  const value = stop?.value.filter((sequence) => sequence.trim() !== '') ?? [];
  if (!stop || value.length === stop.value.length) return stop;
  dropped.add(stop.path);
  return value.length === 0 ? undefined : { ...stop, value };
}
