/** What Gemini's API refuses, in its words: by the model's generation where models differ. */
import { isRecord, itemsOf, stringOf } from '../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';

/** The signature that the fake provider issues, the only one that it knows. */
export const THOUGHT_SIGNATURE = 'c2lnbmVkIGJ5IHRoZSBmYWtlIG9mIEdlbWluaQ==';
/** Documented for calls of other models. */
const ANY_SIGNATURE = new Set([
  THOUGHT_SIGNATURE,
  'skip_thought_signature_validator',
  'context_engineering_is_the_way_to_go',
]);

const FIELDS = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'generationConfig',
  'cachedContent',
  'labels',
  'serviceTier',
]);
const CONFIG_FIELDS = new Set([
  'stopSequences',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'candidateCount',
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'speechConfig',
  'thinkingConfig',
  'imageConfig',
  'mediaResolution',
]);
const DATA = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];
const MAX_STOPS = 5;
const LEVELS_FROM = 3;
const [MIN_PRO_BUDGET, MAX_PRO_BUDGET, MAX_FLASH_BUDGET] = [128, 32_768, 24_576];

interface Model {
  readonly version: number;
  readonly isPro: boolean;
}

type Rule = (body: JsonRecord, model: Model) => string | undefined;

const RULES: readonly Rule[] = [
  (body) => unknownName(body, FIELDS, ''),
  ({ generationConfig: config }) =>
    isRecord(config) ? unknownName(config, CONFIG_FIELDS, " at 'generation_config'") : undefined,
  settingsRule,
  thinkingRule,
  toolRule,
  contentsRule,
  turnRule,
  signatureRule,
];

/** The first rule that a request breaks, as the API words it; undefined: it is accepted. */
export function refuseGemini(body: JsonRecord, model: string): string | undefined {
  const version = Number(/gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? Infinity);
  for (const rule of RULES) {
    const refusal = rule(body, { version, isPro: model.includes('-pro') });
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function unknownName(value: JsonRecord, known: ReadonlySet<string>, at: string): string | undefined {
  const unknown = Object.keys(value).find((name) => !known.has(name));
  return unknown === undefined
    ? undefined
    : `Invalid JSON payload received. Unknown name "${unknown}"${at}: Cannot find field.`;
}

function configOf({ generationConfig: config }: JsonRecord): JsonRecord {
  return isRecord(config) ? config : {};
}

function contentsOf({ contents }: JsonRecord): readonly JsonRecord[] {
  return itemsOf(contents).filter(isRecord);
}

function partsOf({ parts }: JsonRecord): readonly JsonRecord[] {
  return itemsOf(parts).filter(isRecord);
}

function settingsRule(body: JsonRecord, { version }: Model): string | undefined {
  const { stopSequences, temperature, responseMimeType } = configOf(body);
  if (itemsOf(stopSequences).length > MAX_STOPS) return 'The number of stop sequences must be at most 5.';
  if (Number(temperature ?? 0) > 2) return 'temperature must be in the range [0.0, 2.0].';
  const hasTools = itemsOf(body['tools']).length > 0;
  return version < LEVELS_FROM && hasTools && responseMimeType === 'application/json'
    ? "Function calling with a response mime type: 'application/json' is unsupported"
    : undefined;
}

function thinkingRule(body: JsonRecord, { version, isPro }: Model): string | undefined {
  const { thinkingConfig } = configOf(body);
  const { thinkingLevel: level, thinkingBudget: budget } = isRecord(thinkingConfig) ? thinkingConfig : {};
  if (level !== undefined && budget !== undefined)
    return 'You can only set only one of thinking budget and thinking level.';
  if (level !== undefined && version < LEVELS_FROM) return 'Thinking level is not supported for this model.';
  if (typeof budget !== 'number' || budget === -1) return undefined;
  const [least, most] = isPro ? [MIN_PRO_BUDGET, MAX_PRO_BUDGET] : [0, MAX_FLASH_BUDGET];
  return budget < least || budget > most
    ? `The thinking budget ${budget} is invalid. Please choose a value between ${least} and ${most}.`
    : undefined;
}

function toolRule(body: JsonRecord): string | undefined {
  const declared = itemsOf(body['tools'])
    .filter(isRecord)
    .flatMap((tool) => itemsOf(tool['functionDeclarations']).filter(isRecord));
  const names = declared.map(({ name }) => stringOf(name));
  const invalid = names.findIndex((name) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name));
  if (invalid >= 0)
    return `Invalid function name at function_declarations[${invalid}]. Must start with a letter or an underscore.`;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `Duplicate function declaration found: ${twice}`;
  return declared.some((each) => 'parameters' in each && 'parametersJsonSchema' in each)
    ? 'parameters and parameters_json_schema must not both be set.'
    : undefined;
}

function contentsRule(body: JsonRecord): string | undefined {
  const contents = contentsOf(body);
  if (contents.length === 0) return '* GenerateContentRequest.contents: contents is not specified';
  for (const [index, content] of contents.entries()) {
    const at = `GenerateContentRequest.contents[${index}]`;
    const { role = 'user' } = content;
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.';
    const parts = partsOf(content);
    if (parts.length === 0) return `* ${at}.parts: contents.parts must not be empty.`;
    const bare = parts.findIndex((part) => !DATA.some((name) => name in part));
    if (bare >= 0) return `* ${at}.parts[${bare}].data: required oneof field 'data' must have one initialized field`;
  }
  return undefined;
}

/** What follows one after the other in the same role is one turn. */
function turnsOf(body: JsonRecord): readonly { readonly role: string; readonly parts: readonly JsonRecord[] }[] {
  const turns: { role: string; parts: JsonRecord[] }[] = [];
  for (const content of contentsOf(body)) {
    const role = stringOf(content['role'] ?? 'user');
    const last = turns.at(-1);
    if (last?.role === role) last.parts.push(...partsOf(content));
    else turns.push({ role, parts: [...partsOf(content)] });
  }
  return turns;
}

function countOf(parts: readonly JsonRecord[], member: string): number {
  return parts.filter((part) => part[member] !== undefined).length;
}

/** Calls follow the user's turn or results, and each call has its result in the next turn. */
function turnRule(body: JsonRecord): string | undefined {
  let calls = 0;
  for (const [index, { role, parts }] of turnsOf(body).entries()) {
    if (role === 'model') {
      calls = countOf(parts, 'functionCall');
      if (calls > 0 && index === 0)
        return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.';
      continue;
    }
    const results = countOf(parts, 'functionResponse');
    if (results > 0 && calls === 0)
      return 'Please ensure that function response turn comes immediately after a function call turn.';
    if (results !== calls)
      return (
        'Please ensure that the number of function response parts is equal to the number of function call parts of ' +
        'the function call turn.'
      );
    calls = 0;
  }
  return undefined;
}

/** Signatures are its own, and the first call of each step since the user's last words has one. */
function signatureRule(body: JsonRecord, { version }: Model): string | undefined {
  const turns = turnsOf(body);
  const signatures = turns.flatMap(({ parts }) => parts.map((part) => part['thoughtSignature']));
  if (signatures.some((signature) => signature !== undefined && !ANY_SIGNATURE.has(stringOf(signature))))
    return 'Corrupted thought signature.';
  if (version < LEVELS_FROM) return undefined;
  const asked = turns.findLastIndex(({ role, parts }) => role === 'user' && countOf(parts, 'functionResponse') === 0);
  const unsigned = turns.slice(asked + 1).flatMap(({ role, parts }) => {
    const first = role === 'model' ? parts.find((part) => part['functionCall'] !== undefined) : undefined;
    return first && first['thoughtSignature'] === undefined ? [first['functionCall']] : [];
  });
  const [called] = unsigned;
  return isRecord(called)
    ? `Function call is missing a thought_signature in functionCall parts: ${stringOf(called['name'])}.`
    : undefined;
}
