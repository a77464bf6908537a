/** The demo provider's legacy completions: a prompt gets the answer that it would get as a message of a chat. */
import { answerTo } from './answer.ts';
import type { Answer } from './answer.ts';
import type { Dialect, Exchange, StreamEvent } from './dialect.ts';
import { openai } from './openai.ts';
import { isObject, optionalCount, requiredText } from './prompt.ts';
import type { Json, Prompt } from './prompt.ts';

const CREATED_SECONDS = 1_735_689_600;
/** What a request without `max_tokens` gets. */
const DEFAULT_TOKENS = 16;

export const legacy: Dialect = { ...openai, parse, whole, stream };

function parse(body: Json): Prompt {
  const texts = promptsOf(body['prompt']);
  return {
    model: requiredText(body, 'model'),
    stream: body['stream'] === true,
    maxTokens: optionalCount(body, 'max_tokens') ?? DEFAULT_TOKENS,
    texts,
    lastText: texts.at(-1) ?? '',
    toolResult: undefined,
    images: 0,
    tools: [],
    toolTexts: [],
    answerSchema: undefined,
    forcedTool: undefined,
  };
}

/** A text, several, one list of token numbers, or several. */
function promptsOf(prompt: unknown): string[] {
  if (!Array.isArray(prompt)) return [typeof prompt === 'string' ? prompt : ''];
  if (prompt.every((each) => typeof each === 'number')) return [prompt.join(' ')];
  return prompt.map((each: unknown) => (Array.isArray(each) ? each.join(' ') : String(each)));
}

interface Choice {
  readonly index: number;
  /** What it echoes. */
  readonly prompt: string;
  readonly answer: Answer;
}

/** `n` for each prompt. */
function choicesOf({ body, prompt }: Exchange): Choice[] {
  const count = optionalCount(body, 'n') ?? 1;
  return prompt.texts.flatMap((text, at) => {
    const answer = answerTo({ ...prompt, texts: [text], lastText: text });
    return Array.from({ length: count }, (_, index) => ({
      index: at * count + index,
      prompt: body['echo'] === true ? text : '',
      answer,
    }));
  });
}

function head({ id, prompt }: Exchange): Json {
  return { id: `cmpl-${id}`, object: 'text_completion', created: CREATED_SECONDS, model: prompt.model };
}

function choice(index: number, text: string, finish: string | null): Json {
  return { index, text, logprobs: null, finish_reason: finish };
}

function finishReason({ truncated }: Answer): string {
  return truncated ? 'length' : 'stop';
}

function whole(exchange: Exchange): unknown {
  const choices = choicesOf(exchange);
  return {
    ...head(exchange),
    choices: choices.map(({ index, prompt, answer }) =>
      choice(index, prompt + answer.pieces.join(''), finishReason(answer)),
    ),
    ...usage(exchange, choices),
  };
}

function stream(exchange: Exchange): StreamEvent[] {
  const { body } = exchange;
  const choices = choicesOf(exchange);
  const options = body['stream_options'];
  const wantsUsage = isObject(options) && options['include_usage'] === true;
  const event = (value: Json, tokens: 0 | 1 = 0): StreamEvent => ({
    text: `data: ${JSON.stringify({ ...head(exchange), ...value })}\n\n`,
    tokens,
  });
  const texts = choices.flatMap(({ index, prompt, answer }) => [
    ...(prompt === '' ? [] : [event({ choices: [choice(index, prompt, null)] })]),
    ...answer.pieces.map((piece) => event({ choices: [choice(index, piece, null)] }, 1)),
    event({ choices: [choice(index, '', finishReason(answer))] }),
  ]);
  const counted = usage(exchange, choices);
  return [
    ...texts,
    ...(wantsUsage && counted['usage'] !== undefined ? [event({ choices: [], ...counted })] : []),
    { text: 'data: [DONE]\n\n', tokens: 0 },
  ];
}

function usage({ input }: Exchange, choices: readonly Choice[]): Json {
  const counts = choices.map(({ answer }) => answer.outputTokens);
  if (counts.includes(undefined)) return {};
  const prompt = input.uncached + input.cached;
  const completion = counts.reduce<number>((sum, count = 0) => sum + count, 0);
  return {
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
}
