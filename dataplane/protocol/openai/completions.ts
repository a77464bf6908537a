/**
 * Legacy completions, which pass through: OpenAI client, OpenAI provider.
 */
import { readCandidate } from '../candidates.ts';
import type { Converter, Meter, RequestPlan, UpstreamBody } from '../converter.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { parseObject } from '../json-value.ts';
import { editStreamOptions, openChunkStream } from '../openai-openai.ts';
import { OutputTally } from '../output-tally.ts';
import { meterOf } from '../usage.ts';
import { setCacheKey } from './cache-key.ts';
import { MAX_CHOICES } from './completion-facts.ts';
import type { Choices } from './completion-facts.ts';
import { throwIfError } from './failures.ts';
import { tallyMessage } from './output.ts';
import { ChunkMeter } from './stream-meter.ts';
import type { ChunkForm } from './stream-meter.ts';
import { reportedIn } from './usage.ts';

/** `choices`: what the request's facts say of its response. */
export function completionsConverter(choices: Choices): Converter {
  return {
    client: 'OpenAI',
    upstream: 'OpenAI',
    request: editRequest,
    response: (body) => {
      const completion = parseObject(body);
      throwIfError(completion);
      if (!Array.isArray(completion['choices'])) throw new SyntaxError('the answer is not a completion');
      return { body, meter: meterWhole(completion, choices) };
    },
    stream: (request) => openChunkStream(request, new ChunkMeter(formOf(choices, false))),
  };
}

function editRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const { upstreamModel, maxOutputTokens, scanned } = plan;
  const { model, max_tokens: limit, stream, stream_options: options } = parsed;
  const edits = new Map<string, JsonEdit>();
  setCacheKey(edits, parsed, plan);
  if (model !== upstreamModel) edits.set('model', JSON.stringify(upstreamModel));
  // nothing is generated then, only the prompt is echoed
  if (maxOutputTokens !== undefined && limit !== 0 && limit !== maxOutputTokens)
    edits.set('max_tokens', String(maxOutputTokens));
  if (stream === true) editStreamOptions(edits, body, options);
  return { path: '/completions', body: editObject(body, edits, scanned) };
}

/** Meters a whole response of which nothing is known but itself. */
export function meterCompletions(completion: JsonRecord): Meter {
  return meterWhole(completion, { count: 1, generatedForEach: 1, echoed: undefined });
}

/** Of completions that are no choices, the provider bills what the response does not show. */
function meterWhole(completion: JsonRecord, choices: Choices): Meter {
  const reported = reportedIn(completion);
  const output = new OutputTally();
  const form = formOf(choices, true);
  for (const choice of itemsOf(completion['choices']))
    if (isRecord(choice)) form.add(output, choice, readCandidate(choice['index'], form.mostChoices));
  return meterOf(
    reported,
    isCounted(choices, reported.output) ? 0 : Math.ceil(output.bytes * choices.generatedForEach),
  );
}

/** An echo may not match its prompt exactly. What differs would look generated, and contradict a reported zero. */
function isCounted({ echoed }: Choices, output: number | undefined): boolean {
  return echoed !== undefined && output !== undefined;
}

/**
 * Choices have a text, of which what they echo of their prompt is not generated; some providers add reasoning, or answer
 * in the form of chats. `whole`: each choice comes once, with all of its text.
 */
function formOf(choices: Choices, whole: boolean): ChunkForm {
  const { count, echoed } = choices;
  /** By index: what a choice echoes. */
  const echoes = new Map<number, Echo>();
  return {
    choices: count,
    mostChoices: MAX_CHOICES,
    add: (tally, choice, index) => {
      const text = stringOf(choice['text']);
      const echo = echoes.get(index) ?? new Echo(echoed?.[Math.floor((index * echoed.length) / count)]);
      echoes.set(index, echo);
      tally.add(echo.generated(text, whole || textOf(choice['finish_reason']) !== undefined));
      for (const message of [choice, choice['message'], choice['delta']])
        if (isRecord(message)) tallyMessage(tally, message['content'] === text ? { ...message, content: '' } : message);
    },
  };
}

/** Tells the echo of a prompt, which comes in pieces, from what is generated. */
class Echo {
  readonly #prompt: string;
  /** How many characters of the prompt have been echoed; undefined: the echo is over. */
  #length: number | undefined = 0;

  /** `prompt`: undefined where the choice echoes none, or one whose text is not known. */
  constructor(prompt: string | undefined) {
    this.#prompt = prompt ?? '';
  }

  /** What is generated of the text so far, without what an earlier call has returned. `ended`: no more text follows. */
  generated(text: string, ended: boolean): string {
    const before = this.#length;
    if (before === undefined) return text;
    const left = this.#prompt.length - before;
    const isEcho = this.#prompt.startsWith(text.slice(0, left), before);
    if (isEcho && text.length < left && !ended) {
      this.#length = before + text.length;
      return '';
    }
    this.#length = undefined;
    return isEcho && text.length >= left ? text.slice(left) : this.#prompt.slice(0, before) + text;
  }
}
