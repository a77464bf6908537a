/** Makes the demo provider's answers: the same answer to the same prompt, complete or token by token. */
import type { Behaviour } from './rules.ts';
import { behaviourOf } from './rules.ts';
import { exampleOf } from './example.ts';
import type { Prompt, Tool } from './prompt.ts';
import { tokensOf } from './tokens.ts';

export interface Answer {
  readonly behaviour: Behaviour;
  /** The text in pieces of one token; empty if a tool is called. */
  readonly pieces: readonly string[];
  readonly toolCall: { readonly name: string; readonly input: unknown } | undefined;
  /** True if the output limit cut the text short. */
  readonly truncated: boolean;
  /** The reported number, which a rule may have made wrong; undefined: none is reported. */
  readonly outputTokens: number | undefined;
}

const LONG_WORDS = ['one', 'more', 'word', 'and', 'another', 'still', 'counting', 'on'];
const HAIKU = 'Tokens pass the gate,\neach one counted to the last.\nThe ledger agrees.';

/** The answer to a prompt, within its output limit and by its rules. */
export function answerTo(prompt: Prompt): Answer {
  const behaviour = behaviourOf(prompt.lastText);
  const tool = toolToCall(prompt, behaviour);
  const toolCall = tool && { name: tool.name, input: exampleOf(tool.schema) };
  const whole = tokensOf(toolCall ? JSON.stringify(toolCall.input) : answerText(prompt, behaviour));
  const pieces = prompt.maxTokens === undefined || toolCall ? whole : whole.slice(0, prompt.maxTokens);
  return {
    behaviour,
    toolCall,
    pieces: toolCall ? [] : pieces,
    truncated: pieces.length < whole.length,
    outputTokens: behaviour.hideUsage ? undefined : (behaviour.claimedTokens ?? Math.max(1, pieces.length)),
  };
}

function answerText(prompt: Prompt, behaviour: Behaviour): string {
  if (behaviour.echo !== undefined) return behaviour.echo;
  if (prompt.answerSchema !== undefined) return JSON.stringify(exampleOf(prompt.answerSchema));
  if (behaviour.words !== undefined)
    return Array.from({ length: behaviour.words }, (_, index) => LONG_WORDS[index % LONG_WORDS.length]).join(' ');
  if (prompt.toolResult !== undefined) return `The tool says: ${prompt.toolResult}`;
  if (/\bhaiku\b/i.test(prompt.lastText)) return HAIKU;
  return (
    `${greeting(prompt)} ${counted(prompt)} I am the demo provider, standing in for ${prompt.model}: I answer ` +
    `by rule, and every token of this is counted and billed as if I were the real one.`
  );
}

function greeting(prompt: Prompt): string {
  const said = prompt.lastText.trim().replace(/\s+/g, ' ');
  if (said === '') return 'Hello! You said nothing, which is fine.';
  const short = said.length > 120 ? `${said.slice(0, 117)}...` : said;
  return /^(?:hi|hello|hey|good (?:morning|evening|day))\b/i.test(said) ? 'Hello there!' : `You said "${short}".`;
}

function counted({ lastText, texts, images }: Prompt): string {
  const count = lastText.split(/\s+/).filter((word) => word !== '').length;
  const seen = [`${count} ${count === 1 ? 'word' : 'words'}`];
  if (images > 0) seen.push(`${images} ${images === 1 ? 'picture' : 'pictures'}`);
  if (texts.length > 1) seen.push(`${texts.length} messages in all`);
  return `That is ${seen.join(', ')}.`;
}

/** The tool that this answer calls: a forced one, or the first if the prompt asks for it; never twice in a row. */
function toolToCall(prompt: Prompt, behaviour: Behaviour): Tool | undefined {
  if (prompt.toolResult !== undefined) return undefined;
  if (prompt.forcedTool) return prompt.tools.find((tool) => tool.name === prompt.forcedTool);
  return behaviour.useTool || prompt.forcedTool !== undefined ? prompt.tools[0] : undefined;
}
