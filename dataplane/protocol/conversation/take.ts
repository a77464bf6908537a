/**
 * What a provider takes of a conversation. Its tables say how it handles each setting and each kind of part, as
 * field-table.ts has it for a client's fields: what is not converted is dropped, named or refused by the client's path.
 */
import type { DroppedFields } from '../dropped-fields.ts';
import { isNeutral } from '../field-table.ts';
import type { Handling } from '../field-table.ts';
import { unsupported } from '../unsupported.ts';
import type { Conversation, Located, Path, SettingName, Settings, Tool, Turn } from './request.ts';

/** The default tier, and those that cost more. */
const DEAR_TIERS: ReadonlySet<string> = new Set(['standard', 'priority', 'fast', 'ultrafast']);

/**
 * For a provider that serves its default tier only. Agents ask for a faster one in all of their calls, and can do
 * without it; a cheaper one cannot be left out. Throws RequestFault.
 */
export function refuseCheaperTier({ serviceTier }: Settings, { provider }: Taker): void {
  if (serviceTier && !DEAR_TIERS.has(serviceTier.value))
    throw unsupported(serviceTier.path, provider, 'its tiers are others');
}

/** How a provider handles each setting. */
export type SettingsTable = Readonly<Record<SettingName, Handling>>;

/** A kind of part, or a mark after any. */
export type PartFeature = Turn['parts'][number]['type'] | 'cache mark';
/** How a provider handles each kind of part. */
export type PartsTable = Readonly<Record<PartFeature, Handling>>;

export type ToolFeature = Exclude<keyof Tool, 'path'>;
/** How a provider handles each member of a tool. */
export type ToolTable = Readonly<Record<ToolFeature, Handling>>;

/** A provider as errors name it, and the list of what is left out. */
export interface Taker {
  readonly provider: string;
  readonly dropped: DroppedFields;
}

/** The settings that the provider takes. Throws RequestFault for one that it refuses. */
export function takeSettings(table: SettingsTable, settings: Settings, taker: Taker): Settings {
  const taken: Settings = {};
  for (const name of Object.keys(settings)) {
    if (!isSetting(table, name)) continue;
    const setting = settings[name];
    if (setting !== undefined && takes(table[name], setting, taker)) Object.assign(taken, { [name]: setting });
  }
  return taken;
}

function isSetting(table: SettingsTable, name: string): name is SettingName {
  return name in table;
}

/** The value of a setting that the model takes; any other is named, unless it has the default. */
export function keptValue<Value>(
  setting: Located<Value> | undefined,
  takesIt: boolean,
  dropped: DroppedFields,
  defaultValue?: Value,
): Value | undefined {
  return setting && dropped.keepIf(takesIt, setting.path, setting.value, defaultValue);
}

/** Whether a value is converted. Throws RequestFault where it is refused; names it where something is lost. */
export function takes(
  handling: Handling,
  { value, path }: { readonly value: unknown; readonly path: Path },
  { provider, dropped }: Taker,
): boolean {
  if (handling.action === 'Converted') return true;
  if (handling.action === 'Dropped' || isNeutral(handling, value)) return false;
  if (handling.action === 'Refused') throw unsupported(path, provider, handling.why);
  dropped.add(path);
  return false;
}

/** Names or refuses what the client's reader found no place for. Throws RequestFault. */
export function settleUnread({ unread }: Pick<Conversation, 'unread'>, { provider, dropped }: Taker): void {
  for (const { path, handling, why } of unread) {
    if (handling === 'Refused') throw unsupported(path, provider, why);
    dropped.add(path);
  }
}
