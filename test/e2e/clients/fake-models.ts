/** The demo provider's answers in the dialects that it does not speak itself: Gemini's API and Bedrock's Converse. */
import { answerTo } from '../../../demo/answer.ts';
import type { Answer } from '../../../demo/answer.ts';
import { contentText, isObject, objectsIn, optionalCount, textIn } from '../../../demo/prompt.ts';
import type { Json, Prompt, Tool } from '../../../demo/prompt.ts';
import { countTokens } from '../../../demo/tokens.ts';
import { converseAnswer } from '../../support/converse-answers.ts';
import { geminiAnswer } from '../../support/gemini-answers.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { json } from '../../support/provider-answers.ts';
import { REASONING_SIGNATURE } from './converse-rules.ts';
import { THOUGHT_SIGNATURE } from './gemini-rules.ts';

interface Asked {
  /** As the path names it. */
  readonly model: string;
  /** "streamGenerateContent", "converse" */
  readonly method: string;
  readonly body: Json;
}

const THOUGHT = 'The rules say it.';
const APIS: readonly (readonly [RegExp, (asked: Asked) => Reply])[] = [
  [/^\/v1beta\/models\/([^:]+):(\w+)/, askGemini],
  [/^\/model\/([^/]+)\/(converse(?:-stream)?)$/, askConverse],
];

/** The answer to a request at this path; undefined: no model here is asked. */
export function answerOf(path: string, body: Json): Reply | undefined {
  for (const [pattern, ask] of APIS) {
    const [, model, method] = pattern.exec(path) ?? [];
    if (model !== undefined && method !== undefined) return ask({ model: decodeURIComponent(model), method, body });
  }
  return undefined;
}

function askGemini({ model, method, body: sent }: Asked): Reply {
  const { generateContentRequest: counted = sent } = sent;
  const body = objectIn(counted);
  const prompt = geminiPrompt(model, body);
  const input = countTokens([...prompt.texts, ...prompt.toolTexts], prompt.images);
  if (method === 'countTokens') return json({ totalTokens: input });
  const answer = answerTo(prompt);
  const { toolCall, pieces, truncated } = answer;
  const { thinkingConfig: thinking } = objectIn(body['generationConfig']);
  return geminiAnswer(
    {
      model,
      pieces,
      call: toolCall && { name: toolCall.name, args: toolCall.input },
      thought: objectIn(thinking)['includeThoughts'] === true ? THOUGHT : undefined,
      signature: THOUGHT_SIGNATURE,
      finishReason: truncated ? 'MAX_TOKENS' : 'STOP',
      usage: usageOf(input, answer),
    },
    { stream: method === 'streamGenerateContent' },
  );
}

function geminiPrompt(model: string, body: Json): Prompt {
  const contents = objectsIn(body['contents']);
  const [config, system] = [objectIn(body['generationConfig']), objectIn(body['systemInstruction'])];
  const declared = objectsIn(body['tools']).flatMap((tool) => objectsIn(tool['functionDeclarations']));
  const results = objectsIn(contents.at(-1)?.['parts']).flatMap((part) => objectsIn([part['functionResponse']]));
  return {
    model,
    stream: false,
    maxTokens: optionalCount(config, 'maxOutputTokens'),
    texts: [system, ...contents].map(({ parts }) => contentText(parts)).filter((text) => text !== ''),
    lastText: contentText(contents.findLast(({ role }) => role !== 'model')?.['parts']),
    toolResult: results[0] && resultText(results[0]['response']),
    images: contents.flatMap(({ parts }) => objectsIn(parts)).filter((part) => 'inlineData' in part).length,
    tools: declared.map((tool) => toolOf(tool['name'], tool['parametersJsonSchema'] ?? tool['parameters'])),
    toolTexts: declared.map((tool) => JSON.stringify(tool)),
    answerSchema: config['responseJsonSchema'] ?? config['responseSchema'],
    forcedTool: geminiChoice(body['toolConfig']),
  };
}

function resultText(response: unknown): string {
  const { output, error, result } = objectIn(response);
  const text = output ?? error ?? result;
  return typeof text === 'string' ? text : JSON.stringify(response);
}

function geminiChoice(toolConfig: unknown): string | undefined {
  const { mode, allowedFunctionNames: names } = objectIn(objectIn(toolConfig)['functionCallingConfig']);
  if (mode !== 'ANY') return undefined;
  return Array.isArray(names) ? textIn(names[0]) : '';
}

function askConverse({ model, method, body }: Asked): Reply {
  const prompt = conversePrompt(model, body);
  const answer = answerTo(prompt);
  const { toolCall, pieces, truncated } = answer;
  const { type: thinking } = objectIn(objectIn(body['additionalModelRequestFields'])['thinking']);
  const thinks = thinking !== undefined && thinking !== 'disabled';
  const input = countTokens([...prompt.texts, ...prompt.toolTexts], prompt.images);
  return converseAnswer(
    {
      pieces,
      call: toolCall && { id: 'tooluse_demo', name: toolCall.name, input: toolCall.input },
      reasoning: thinks ? { text: THOUGHT, signature: REASONING_SIGNATURE } : undefined,
      ...(truncated && { stopReason: 'max_tokens' }),
      usage: usageOf(input, answer),
    },
    { stream: method === 'converse-stream' },
  );
}

function conversePrompt(model: string, body: Json): Prompt {
  const messages = objectsIn(body['messages']);
  const [system, config] = [contentText(body['system']), objectIn(body['toolConfig'])];
  const specs = objectsIn(config['tools']).flatMap((tool) => objectsIn([tool['toolSpec']]));
  const results = objectsIn(messages.at(-1)?.['content']).flatMap((block) => objectsIn([block['toolResult']]));
  return {
    model,
    stream: false,
    maxTokens: optionalCount(objectIn(body['inferenceConfig']), 'maxTokens'),
    texts: [system, ...messages.map(({ content }) => contentText(content))].filter((text) => text !== ''),
    lastText: contentText(messages.findLast(({ role }) => role === 'user')?.['content']),
    toolResult: results[0] && contentText(results[0]['content']),
    images: messages.flatMap(({ content }) => objectsIn(content)).filter((block) => 'image' in block).length,
    tools: specs.map((spec) => toolOf(spec['name'], objectIn(spec['inputSchema'])['json'])),
    toolTexts: specs.map((spec) => JSON.stringify(spec)),
    answerSchema: converseSchema(body['outputConfig']),
    forcedTool: converseChoice(config['toolChoice']),
  };
}

/** The schema is JSON in a string. */
function converseSchema(outputConfig: unknown): unknown {
  const { structure } = objectIn(objectIn(outputConfig)['textFormat']);
  const { schema } = objectIn(objectIn(structure)['jsonSchema']);
  return typeof schema === 'string' ? JSON.parse(schema) : undefined;
}

function converseChoice(choice: unknown): string | undefined {
  const { any, tool } = objectIn(choice);
  if (any !== undefined) return '';
  return tool === undefined ? undefined : textIn(objectIn(tool)['name']);
}

function toolOf(name: unknown, schema: unknown): Tool {
  return { name: textIn(name), schema };
}

function usageOf(
  input: number,
  { outputTokens }: Answer,
): { readonly input: number; readonly output: number } | undefined {
  return outputTokens === undefined ? undefined : { input, output: outputTokens };
}

function objectIn(value: unknown): Json {
  return isObject(value) ? value : {};
}
