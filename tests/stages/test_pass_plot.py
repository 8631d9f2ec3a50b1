"""The picture of a probe says what was measured."""

from xml.etree import ElementTree

from mgpo.stages.pass_plot import HEIGHT, MARGIN, Curve, draw_curves

SVG = "{http://www.w3.org/2000/svg}"


def test_points_lie_where_their_shares_are_and_the_best_is_ringed():
    curve = Curve(name="a<b", points=((0.0, 0.0, 0.1), (1.0, 0.9, 1.0)), best=1)
    root = ElementTree.fromstring(draw_curves("Pass@8", ["step_1", "step_2"], [curve]))
    circles = root.findall(f"{SVG}circle")
    points = [circle for circle in circles if circle.get("r") == "3"]
    assert [float(point.get("cy")) for point in points] == [HEIGHT - MARGIN, MARGIN]
    (ring,) = [circle for circle in circles if circle.get("r") == "7"]
    assert (ring.get("cx"), ring.get("cy")) == (points[1].get("cx"), points[1].get("cy"))
    texts = [text.text for text in root.findall(f"{SVG}text")]
    assert {"a<b", "step_1", "step_2"} < set(texts)


def test_many_models_are_labelled_sparsely():
    names = [f"step_{n}" for n in range(35)]
    curve = Curve(name="math", points=((0.5, 0.4, 0.6),) * 35, best=0)
    root = ElementTree.fromstring(draw_curves("Pass@8", names, [curve]))
    labels = [text.text for text in root.findall(f"{SVG}text") if text.text in names]
    assert labels == names[::4]
