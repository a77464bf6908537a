/** Settings that chat completions and Responses take alike. */
import { createHash } from 'node:crypto';
import { askForFormat } from '../conversation/formats.ts';
import { asObjectFormat } from '../conversation/held-value.ts';
import type { Settings } from '../conversation/request.ts';
import type { HeldValue, RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { openAiStrictSchema } from '../json-schemas.ts';

/** The API's limit. */
const MAX_USER_LENGTH = 64;
/** The name of a schema that has none. */
const SCHEMA_NAME = 'answer';

export interface HeldFormat {
  /** What the model is held to: any JSON object, or a schema with its name; undefined: nothing. */
  readonly held?: 'Json' | JsonRecord;
  /** What the schema's object holds of what the client asked for; absent: it is that. */
  readonly heldValue?: HeldValue | undefined;
  /** Paragraphs for the system prompt. */
  readonly instructions: readonly string[];
}

/** A model that cannot be held to a format is asked for it instead, and the format is named. */
export function writeFormat(
  setting: Settings['responseFormat'],
  strictSchemas: boolean,
  dropped: DroppedFields,
): HeldFormat {
  if (!setting) return { instructions: [] };
  const { value: given, path } = setting;
  if (given.type === 'Json') return { held: 'Json', instructions: [] };
  const object = asObjectFormat(given);
  if (!strictSchemas || !object) {
    dropped.add(path);
    const isObject = object !== undefined && object.held === undefined;
    return { ...(isObject && { held: 'Json' }), instructions: [askForFormat(given)] };
  }
  const { schema, name = SCHEMA_NAME, description, strict: wanted } = object.format;
  const strict = wanted === false ? undefined : openAiStrictSchema(schema);
  return {
    held: { name, schema: strict ?? schema, strict: strict !== undefined, description },
    heldValue: object.held,
    instructions: [],
  };
}

/** OpenAI refuses long ids; a digest still tells users apart. */
export function writeUser(user: string | undefined): string | undefined {
  return user === undefined || user.length <= MAX_USER_LENGTH ? user : createHash('sha256').update(user).digest('hex');
}

export function writeTier(tier: string | undefined): string | undefined {
  return tier === 'standard' ? 'default' : tier;
}

/**
 * The client's key, or else its session, whose calls share a prefix. All accounts share the provider's cache, and names
 * are guessed easily: the key becomes one of the account.
 */
export function writeCacheKey(
  { promptCacheKey }: Pick<Settings, 'promptCacheKey'>,
  { seal, session }: Pick<RequestPlan, 'seal' | 'session'>,
): string | undefined {
  const given = textOf(promptCacheKey?.value);
  if (!seal) return given;
  const key = given ?? textOf(session);
  return key === undefined ? undefined : seal.ofAccount(key);
}
