/**
 * One turn of the event loop, taken stage by stage. What has come in is not worked on as it comes, a request here and an answer
 * there, but once the system has nothing more: first the answers, then the requests, then what all of these left to be written in
 * one piece, such as the ledger's journal. Steps that go on in promises go on side by side. So each piece of the code is used for
 * many calls in a row, while a core's caches hold it: a tenth of a call's CPU time under load (docs/design/performance.md), and
 * nothing where calls come one by one.
 *
 * There is one event loop in a thread, and this is the state of its turn. A step must not throw: that would end the process.
 */
type Step = () => void;

let answers: Step[] = [];
let requests: Step[] = [];
let ends: Step[] = [];
let isScheduled = false;

/** Takes a step with an answer that has come, together with all others of this turn. */
export function withAnswers(step: Step): void {
  answers.push(step);
  schedule();
}

/** Takes a step with a request that has come, after this turn's answers. */
export function withRequests(step: Step): void {
  requests.push(step);
  schedule();
}

/** Takes a step when all others of this turn are done, with whatever they set off that waits for nothing. */
export function atTurnsEnd(step: Step): void {
  ends.push(step);
  schedule();
}

/** Between the two, node goes on with all promises that are settled. */
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(begin);
  setImmediate(end);
}

function begin(): void {
  const [first, second] = [answers, requests];
  answers = [];
  requests = [];
  for (const step of first) step();
  for (const step of second) step();
}

function end(): void {
  const steps = ends;
  ends = [];
  // what comes from now on is of the next turn
  isScheduled = false;
  // what came when this turn's had begun
  if (answers.length > 0 || requests.length > 0) schedule();
  for (const step of steps) step();
}
