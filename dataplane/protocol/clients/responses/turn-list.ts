/**
 * Puts items together to turns: those of the assistant that follow each other are one turn, and so are outputs of
 * calls. System messages at the beginning are one text.
 */
import { withoutLastReasoning } from '../../conversation/repairs/last-reasoning.ts';
import type {
  AssistantPart,
  ImagePart,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UserPart,
} from '../../conversation/request.ts';
import type { MessageText } from './read-parts.ts';

interface OpenTurn<Part> {
  readonly parts: Part[];
  /** Of its first item. */
  readonly path: string;
}

export class TurnList {
  readonly #turns: Turn[] = [];
  /** Texts of the system at the beginning. */
  readonly #system: string[] = [];
  #assistant: OpenTurn<AssistantPart> | undefined;
  #results: OpenTurn<ToolResultPart> | undefined;

  addSystem(text: string, path: string): void {
    if (text === '') return;
    this.#close();
    if (this.#turns.length === 0) this.#system.push(text);
    else this.#turns.push({ role: 'System', parts: [{ type: 'Text', text, path }], path });
  }

  addUser(parts: readonly UserPart[], path: string): void {
    this.#close();
    if (parts.length > 0) this.#turns.push({ role: 'User', parts, path });
  }

  /** A message of the assistant. */
  addTexts(texts: readonly MessageText[], path: string): void {
    for (const { isRefusal, text } of texts) {
      const { parts } = this.#assistantAt(path);
      const separate = parts.some(({ type }) => type === 'Text');
      if (isRefusal) parts.push({ type: 'Refusal', text, path });
      else parts.push({ type: 'Text', text, path, ...(separate && { separate }) });
    }
  }

  addPart(part: ReasoningPart | ToolCallPart | ImagePart): void {
    this.#assistantAt(part.path).parts.push(part);
  }

  addResult(part: ToolResultPart): void {
    this.#closeAssistant();
    this.#results ??= { parts: [], path: part.path };
    this.#results.parts.push(part);
  }

  /** `paragraphs` end the system prompt. */
  end(paragraphs: readonly string[]): readonly Turn[] {
    this.#close();
    const text = [...this.#system, ...paragraphs].join('\n\n');
    const path = 'instructions';
    return text === ''
      ? this.#turns
      : [{ role: 'System', parts: [{ type: 'Text', text, path }], path }, ...this.#turns];
  }

  #assistantAt(path: string): OpenTurn<AssistantPart> {
    this.#closeResults();
    this.#assistant ??= { parts: [], path };
    return this.#assistant;
  }

  #close(): void {
    this.#closeAssistant();
    this.#closeResults();
  }

  #closeAssistant(): void {
    if (!this.#assistant) return;
    const { parts, path } = this.#assistant;
    this.#assistant = undefined;
    const kept = withoutLastReasoning(parts);
    if (kept.length > 0) this.#turns.push({ role: 'Assistant', parts: kept, path });
  }

  #closeResults(): void {
    if (this.#results) this.#turns.push({ role: 'User', ...this.#results });
    this.#results = undefined;
  }
}
