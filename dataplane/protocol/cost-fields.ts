/**
 * Fields of providers' APIs that the gateway does not read, and that raise or replace the output limit of a request, or
 * multiply its answer or the reading of its documents. A request that passes through in its own dialect could use them to
 * cost more than its hold, so they are refused unless a ModelRoute's `allow.fields` names them.
 */
import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { foldName } from './folded-names.ts';
import { pathSegments } from './form-names.ts';

/**
 * Limit: of the output. Budget: of reasoning beyond the limit, or of documents in pieces. Count: of answers. Mode: of
 * generating several.
 */
export type CostFieldKind = 'Limit' | 'Budget' | 'Count' | 'Mode';

/** By folded name (foldSpelling), because some providers ignore case, and many take both spellings. */
export type CostFields = ReadonlyMap<string, CostFieldKind>;

const LIMITS = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_new_tokens',
  'max_new_token',
  'max_gen_len',
  'max_generation_tokens',
  'max_generated_tokens',
  'max_response_output_tokens',
  'max_tokens_to_sample',
  'max_length',
  'max_completion_length',
  'max_answer_tokens',
  'max_decode_tokens',
  'tokens_to_generate',
  'n_predict',
  'num_predict',
  'output_len',
];
const BUDGETS = [
  'thinking_budget',
  'thinking_budget_tokens',
  'thinking_token_budget',
  'thinking_tokens',
  'max_thinking_tokens',
  'max_thinking_length',
  'reasoning_budget',
  'reasoning_tokens',
  'max_reasoning_tokens',
  'reasoning_max_tokens',
];
const COUNTS = [
  'n',
  'best_of',
  'num_return_sequences',
  'num_generations',
  'num_completions',
  'num_choices',
  'num_beams',
  'beam_width',
  'candidate_count',
  'n_iter',
  'n_samples',
  'num_samples',
  'sample_count',
  'samples',
  'batch_size',
  'batch_count',
  'num_outputs',
  'num_images',
  'num_images_per_prompt',
  'number_of_images',
  'number_of_results',
  'image_count',
  'image_num',
  'max_images',
  'images_per_prompt',
  'num_videos',
  'num_videos_per_prompt',
  'video_count',
  'number_of_videos',
];
/** Of documents that are ranked, each piece of which is read with the query. */
const PIECES = ['max_tokens_per_doc', 'max_chunks_per_doc', 'overlap_tokens'];
const MODES = ['sequential_image_generation', 'use_beam_search'];

/** Objects that providers search for further settings. */
const CONTAINERS: ReadonlySet<string> = new Set(
  [
    'extra_body',
    'extra',
    'input',
    'options',
    'parameters',
    'params',
    'config',
    'settings',
    'google',
    'vertex',
    'generation_config',
    'generate_config',
    'generation_kwargs',
    'generate_kwargs',
    'generate_cfg',
    'thinking',
    'thinking_config',
    'reasoning',
    'reasoning_config',
    'chat_template_kwargs',
    'model_kwargs',
    'model_params',
    'provider_options',
    'sampling_params',
    'sampling_parameters',
    'image_config',
    'image_generation_config',
    'inference_config',
    'inference_params',
    'additional_model_request_fields',
    'sequential_image_generation_options',
    'vllm_xargs',
    'nvext',
  ].map(foldSpelling),
);

/** OpenAI's API and those that are compatible with it. */
export const OPENAI_COST_FIELDS: CostFields = costFields();
/** Anthropic's API and those that are compatible with it, of which many are a second face of an OpenAI-like server. */
export const ANTHROPIC_COST_FIELDS: CostFields = costFields();

function costFields(): CostFields {
  const kinds = [
    ['Limit', LIMITS],
    ['Budget', BUDGETS],
    ['Budget', PIECES],
    ['Count', COUNTS],
    ['Mode', MODES],
  ] as const;
  return new Map(kinds.flatMap(([kind, names]) => names.map((name) => [foldSpelling(name), kind] as const)));
}

/** `thinkingBudget`, `thinking-budget` and `THINKING_BUDGET` are `thinkingbudget`, also in wide letters. */
export function foldSpelling(name: string): string {
  return foldName(name).replaceAll(/[_-]/g, '');
}

interface Located {
  readonly object: JsonRecord;
  readonly path: string;
  readonly depth: number;
}

/** No provider nests settings deeper; what is deeper counts as a field that changes the price. */
const MAX_DEPTH = 8;

/**
 * The paths of all fields of a request that change its price, except those in `known`, which the gateway reads and
 * bounds.
 */
export function findCostFields(request: JsonRecord, table: CostFields, known: ReadonlySet<string>): readonly string[] {
  const found: string[] = [];
  const pending: Located[] = [{ object: request, path: '', depth: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    for (const name of Object.keys(next.object)) {
      const path = next.path === '' ? name : `${next.path}.${name}`;
      const value = next.object[name];
      const folded = foldSpelling(name);
      const kind = kindOf(table, name, folded);
      if (kind && !known.has(path) && !isHarmless(kind, value)) found.push(path);
      if (!CONTAINERS.has(folded) || !isRecord(value)) continue;
      if (next.depth < MAX_DEPTH) pending.push({ object: value, path, depth: next.depth + 1 });
      else found.push(path);
    }
  }
  return found;
}

/**
 * A form's fields that hold settings as one text or file (`extra_body`, `parameters[options]`). The gateway does not look
 * into them, but a server may parse them as JSON.
 */
export function findSettingsTexts(form: JsonRecord): readonly string[] {
  return Object.keys(form).filter((name) => {
    const last = pathSegments(name).findLast((segment) => segment !== '');
    return last !== undefined && CONTAINERS.has(foldSpelling(last)) && form[name] !== '';
  });
}

/** By the whole name, or one along a path, as a form's fields may have it: `parameters[n]`, `n[]`. */
function kindOf(table: CostFields, name: string, folded: string): CostFieldKind | undefined {
  const kind = table.get(folded);
  const segments = kind === undefined ? pathSegments(name) : [];
  if (segments.length < 2) return kind;
  return segments.map((each) => table.get(foldSpelling(each))).find((each) => each !== undefined);
}

/** Whether a ModelRoute allows this field, by its path or by its name. */
export function isAllowedField(path: string, allowed: ReadonlySet<string>): boolean {
  return allowed.has(path) || allowed.has(path.slice(path.lastIndexOf('.') + 1));
}

/** Values that mean the default, or less. */
function isHarmless(kind: CostFieldKind, value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 'disabled') return true;
  return (kind === 'Count' && value === 1) || (kind === 'Budget' && value === 0);
}
