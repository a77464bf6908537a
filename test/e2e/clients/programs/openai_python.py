from openai import OpenAI
from pydantic import BaseModel, Field
from harness import KEY, OPENAI, check, run

client = OpenAI(base_url=OPENAI, api_key=KEY, max_retries=0)
TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


class Person(BaseModel):
    name: str
    age: int = Field(ge=18, description="In years.")


def scenario(model):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    answer = client.chat.completions.create(model=model, messages=messages, max_completion_tokens=2000)
    check(answer.choices[0].message.content, "an answer")
    stream = client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True})
    check(list(stream)[-1].usage.total_tokens > 0, "usage at the end of the stream")
    parsed = client.chat.completions.parse(model=model, messages=messages, response_format=Person)
    check(parsed.choices[0].message.parsed.age >= 18, "a parsed answer")
    messages = [{"role": "user", "content": "use the tool"}]
    called = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
    messages += [called, {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "20 C"}]
    final = client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
    check("20 C" in final.choices[0].message.content, "the tool's result")


run(scenario)
